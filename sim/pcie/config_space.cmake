# SPDX-License-Identifier: BSD-2-Clause
# The configuration space alone; the vfio-user server needs nothing else of sim/pcie.
set(config_space ${CMAKE_CURRENT_LIST_DIR}/config_space)

add_library(exrnic_pci_config STATIC ${config_space}.cc)
target_include_directories(exrnic_pci_config PUBLIC ${CMAKE_CURRENT_LIST_DIR}/../..)
target_link_libraries(exrnic_pci_config PRIVATE exrnic_warnings)

exrnic_test(pci_config_space_test SOURCES ${config_space}_test.cc LIBS exrnic_pci_config)
